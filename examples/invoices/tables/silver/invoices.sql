-- Op stays in the table: delete_when needs it, and it tells a row that was never changed (I) from one that was (U).
SELECT
  invoiceid,
  itemid,
  category,
  price,
  quantity,
  orderdate,
  destinationstate,
  shippingtype,
  referral,
  Op,
  replicadmstimestamp
FROM bronze.invoices
