SELECT product_id, name, category, _read_at, _change
FROM bronze.products
