{{ config(materialized='incremental', incremental_strategy='append') }}
-- All columns: Spark finds a line bad by the columns that it parses.
SELECT *, current_timestamp() AS loaded_at FROM landing_orders WHERE line IS NOT NULL
