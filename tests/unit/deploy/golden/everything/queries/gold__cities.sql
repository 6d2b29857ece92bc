-- Written by lakesmith deploy for project shop, target prod. Do not edit: the next
-- deploy refuses edited files. What you change or add goes into files of your own, *_override.tf.
-- sha256 of the text below: 8b080f69391dd77f4ded656ec085a8bd85cedaf1d8f3d6a0c53d77abc0a1dda1

SELECT *
FROM "gold"."cities"
LIMIT 100;
