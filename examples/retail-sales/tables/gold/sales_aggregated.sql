SELECT
  product_category,
  CAST(sum(price) AS decimal(10,2)) AS total_sales,
  CAST(avg(price) AS decimal(10,2)) AS avg_price,
  count(price) AS sales_count,
  min(sale_time) AS first_sale,
  window.start AS window_start,
  window.end AS window_end
FROM silver.sales_enriched
GROUP BY product_category, window(sale_time, '1 minute')
