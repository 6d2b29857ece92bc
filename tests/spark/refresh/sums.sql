-- Queries of sums: a title is a table's name (if it is one) and how a change of sales is added to each column
-- (none is not added up, ? is not asked here). The dialect of DuckDB where it differs is below "duckdb".
-- by_shop: group rows sum count
SELECT shop, count(*) AS n, sum(amount) AS total, count(amount) AS known FROM bronze.sales GROUP BY shop
-- sums_alone: ?
SELECT shop, sum(amount) AS total, sum(cents) AS cents FROM bronze.sales GROUP BY shop
-- extremes: group rows min max
SELECT shop, count(*) AS n, min(amount) AS least, max(sold) AS newest FROM bronze.sales GROUP BY shop
-- shops: ?
SELECT shop FROM bronze.sales GROUP BY shop
-- least_alone: ?
SELECT shop, min(cents) AS least FROM bronze.sales GROUP BY shop
-- filtered: group rows sum count
SELECT cents % 2 AS odd, count(*) AS n, sum(amount) FILTER (WHERE shop = 'a') AS of_a, count(amount)
FILTER (WHERE shop = 'a') AS known FROM bronze.sales WHERE cents > 2 GROUP BY cents % 2
-- by_hour: ?
SELECT date_trunc('hour', sold) AS hour, shop, count(*) AS n, sum(amount) AS total
FROM bronze.sales GROUP BY date_trunc('hour', sold), shop
-- by_city: group rows sum
SELECT s.city, count(*) AS n, sum(b.amount) AS total FROM bronze.sales b JOIN bronze.shops s
ON b.shop = s.shop GROUP BY s.city
-- sliding: group rows sum
SELECT window(sold, '20 minutes', '10 minutes').start AS since, count(*) AS n, sum(amount) AS total
FROM bronze.sales GROUP BY window(sold, '20 minutes', '10 minutes')
-- duckdb
SELECT time_bucket(INTERVAL '10 minutes', sold) - back * INTERVAL '10 minutes' AS since, count(*),
sum(amount) FROM bronze.sales, range(2) AS r(back) GROUP BY since
-- : group group group rows
SELECT upper(shop) AS name, shop, 1 AS one, count(1) AS n FROM bronze.sales GROUP BY shop
-- : group rows
SELECT b.shop, count(*) AS n FROM bronze.sales b LEFT JOIN bronze.shops s ON b.shop = s.shop
GROUP BY b.shop
-- : group rows
SELECT shop, count(*) AS n FROM (SELECT shop, explode(sequence(1, cents)) AS e
FROM bronze.sales) GROUP BY shop
-- : none
SELECT count(*) AS n FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(amount) AS mean FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(amount) AS mean, sum(amount) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(amount) AS mean, sum(amount) AS s, count(*) AS n FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(amount) AS mean, sum(cents) AS s, count(amount) AS n FROM bronze.sales GROUP BY shop
-- : group mean sum count
SELECT shop, avg(amount) AS mean, sum(amount) AS s, count(amount) AS n FROM bronze.sales GROUP BY shop
-- : group mean sum rows
SELECT shop, avg(coalesce(cents, 1)) AS m, sum(coalesce(cents, 1)) AS s, count(*) AS n
FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(id) FILTER (WHERE id > 1) AS m, sum(id) AS s, count(id) AS n FROM bronze.sales
GROUP BY shop
-- : none
SELECT shop, try_avg(amount) AS m, sum(amount) AS s, count(amount) AS n FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, try_cast(avg(amount) AS int) AS m, sum(amount) AS s, count(amount) AS n
FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(CAST(amount AS decimal(12,2))) AS m, sum(CAST(amount AS decimal(12,2))) AS s,
count(CAST(amount AS decimal(12,2))) AS n FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, avg(CAST(id AS bigint)) AS m, sum(CAST(id AS bigint)) AS s, count(CAST(id AS bigint)) AS n
FROM bronze.sales GROUP BY shop
-- : group sum rows
SELECT shop, CAST(sum(amount) AS decimal(10,2)) AS s, CAST(count(*) AS int) AS n
FROM bronze.sales GROUP BY shop
-- : group sum
SELECT shop, CAST(sum(cents) AS decimal(10,2)) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, CAST(sum(amount) AS decimal(10,1)) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, CAST(sum(amount) AS bigint) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, CAST(sum(amount) AS double) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, try_cast(sum(amount) AS decimal(10,2)) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, CAST(max(amount) AS decimal(12,2)) AS s FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, count(DISTINCT cents) AS n FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, sum(CAST(amount AS double)) AS total FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, sum(CAST(amount AS decimal(30,2))) AS total FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, try_sum(amount) AS total FROM bronze.sales GROUP BY shop
-- : none
SELECT shop, count(*) AS n FROM bronze.sales GROUP BY shop HAVING count(*) > 1
-- : none
SELECT shop, sum(amount) / count(*) AS mean FROM bronze.sales GROUP BY shop
-- : none
SELECT s.shop, count(*) AS n FROM bronze.shops s LEFT JOIN bronze.sales b ON b.shop = s.shop
GROUP BY s.shop
-- : none
SELECT a.shop, count(*) AS n FROM bronze.sales a JOIN bronze.sales b ON a.id = b.id GROUP BY a.shop
-- : none
SELECT shop, count(*) AS n FROM (SELECT DISTINCT shop, cents FROM bronze.sales) GROUP BY shop
-- : none
SELECT shop, count(*) AS n FROM (SELECT shop FROM bronze.sales UNION ALL SELECT shop
FROM bronze.shops) GROUP BY shop
-- : none
SELECT shop, count(*) AS n FROM bronze.sales WHERE shop IN (SELECT shop FROM bronze.shops) GROUP BY shop
