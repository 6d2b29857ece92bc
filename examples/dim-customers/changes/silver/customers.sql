SELECT op, customer_id, name, email_address, city, credit_limit, updated_at, segment
FROM bronze.customers
