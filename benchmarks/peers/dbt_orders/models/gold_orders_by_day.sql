{{ config(materialized='table') }}
SELECT to_date(changed_at) AS day, op, count(*) AS orders, max(changed_at) AS newest
FROM {{ ref('silver_orders') }} WHERE op <> 'D' GROUP BY to_date(changed_at), op
