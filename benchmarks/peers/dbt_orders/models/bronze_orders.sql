{{ config(materialized='incremental', incremental_strategy='append') }}
SELECT * EXCEPT (line), current_timestamp() AS loaded_at FROM landing_orders WHERE line IS NULL
