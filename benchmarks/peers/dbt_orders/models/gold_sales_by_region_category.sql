{{ config(materialized='table') }}
SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
FROM {{ ref('silver_orders') }} WHERE op <> 'D' GROUP BY region, category
