SELECT city, count(*) AS customers, sum(credit_limit) AS credit
FROM silver.customers
GROUP BY city
