-- From bronze, as silver.invoices is: each kind of history is made from every change that was delivered.
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
