
  
    
        create or replace table shop.gold_sales_by_region_category
      
      
    using iceberg
      
      
      
      
      
      

      as
      
SELECT region, category, count(*) AS orders, sum(quantity) AS pieces, sum(amount) AS sales
FROM shop.silver_orders GROUP BY region, category
  