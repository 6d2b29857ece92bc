"""What every kind of batch shares: the branch, the sidecars, quarantine and tombstones, the publish. No kind
of batch is known here."""
