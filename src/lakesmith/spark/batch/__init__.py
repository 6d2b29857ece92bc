"""What all batches share: the branch, sidecars, quarantine and the publish."""
