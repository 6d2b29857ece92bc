
SELECT *, current_timestamp() AS loaded_at FROM landing_orders