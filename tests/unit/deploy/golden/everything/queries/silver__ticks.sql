-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: e3fa2858029e386a962cdb7990e96fd8fe61d3e377dce8d543aad06e8554064d

SELECT *
FROM "silver"."ticks"
LIMIT 100;
