SELECT
  customer_id,
  trim(name) AS name,
  lower(trim(email)) AS email,
  city,
  processed_time
FROM bronze.orders
