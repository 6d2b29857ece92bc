-- From bronze, as silver.customers is: one bronze serves tables of newest versions and tables of all of them.
SELECT
  customer_id,
  trim(name) AS name,
  city,
  processed_time
FROM bronze.orders
