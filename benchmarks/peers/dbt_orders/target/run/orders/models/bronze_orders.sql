
  
    
        create or replace table shop.bronze_orders
      
      
    using iceberg
      
      
      
      
      
      

      as
      
SELECT *, current_timestamp() AS loaded_at FROM landing_orders
  