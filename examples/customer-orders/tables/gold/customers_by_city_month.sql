-- A customer with two e-mail addresses has two rows in silver.customers, and is counted once.
SELECT
  city,
  date_format(processed_time, 'yyyy-MM') AS month,
  count(DISTINCT customer_id) AS customers
FROM silver.customers
GROUP BY city, date_format(processed_time, 'yyyy-MM')
