SELECT s.sale_time, s.product_id, p.name AS product_name, p.category AS product_category, s.price
FROM bronze.sales_raw AS s
LEFT JOIN silver.products AS p ON p.product_id = s.product_id
