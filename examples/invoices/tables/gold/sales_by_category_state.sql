SELECT
  category,
  destinationstate,
  count(DISTINCT invoiceid) AS invoices,
  sum(quantity) AS pieces,
  sum(price * quantity) AS sales
FROM silver.invoices
GROUP BY category, destinationstate
