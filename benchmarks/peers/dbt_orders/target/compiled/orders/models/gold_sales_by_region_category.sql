
SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
FROM shop.silver_orders GROUP BY region, category