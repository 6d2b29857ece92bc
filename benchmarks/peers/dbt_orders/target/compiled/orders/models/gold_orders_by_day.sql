
SELECT to_date(changed_at) AS day, op, count(*) AS orders, max(changed_at) AS newest
FROM shop.silver_orders GROUP BY to_date(changed_at), op