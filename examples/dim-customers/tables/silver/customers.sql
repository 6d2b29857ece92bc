SELECT op, customer_id, name, email, city, credit_limit, updated_at
FROM bronze.customers
