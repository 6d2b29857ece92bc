{{ config(materialized='table') }}
SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
FROM {{ ref('silver_orders') }} GROUP BY region, category
