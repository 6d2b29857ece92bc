
  
    
        create or replace table shop.silver_orders
      
      
    using iceberg
      
      
      
      
      
      

      as
      
SELECT op, changed_at, order_id, customer_id, region, category, quantity, amount
FROM (
    SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY changed_at DESC) AS rank
    FROM shop.bronze_orders
)
WHERE rank = 1 AND op <> 'D' AND amount IS NOT NULL
  