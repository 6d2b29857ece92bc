-- Query shapes whose refresh is compared with DuckDB: what people write in gold tables, one of each kind.
-- A shape is `-- name: strategies`, its query, and where needed one or more of these parts:
-- `-- duckdb`: the query in DuckDB's dialect; `-- settings`: more lines of the table's file;
-- `-- python`: what a function of DataFrames, named as the tables of the query, returns instead of the query.
-- The strategies are those that may refresh the table after its first build: one that becomes `full` is found.
-- The queries read three keyed silver tables (orders, customers, items), an append-only one (log), each other.

---- Row by row
-- silver.log: append
SELECT id, customer, upper(item) AS item, amount * 2 AS doubled, sold FROM bronze.orders WHERE op <> 'D'
-- silver.sizes: append
SELECT id, CASE WHEN amount > 50 THEN 'large' WHEN amount > 10 THEN 'small' ELSE 'tiny' END AS size
FROM bronze.orders WHERE amount IS NOT NULL
-- silver.sizes_again: append
SELECT size, id % 2 AS part FROM silver.sizes WHERE size <> 'tiny'

---- Grouped
-- gold.aggregates: keys
SELECT customer, count(*) AS n, count(amount) AS known, sum(amount) AS total, avg(amount) AS mean,
min(sold) AS earliest, max(amount) AS most, count(DISTINCT item) AS items, count_if(amount > 20) AS
large, sum(amount) FILTER (WHERE item = 'a') AS of_a FROM silver.orders GROUP BY customer
-- duckdb
SELECT customer, count(*), count(amount), sum(amount), avg(amount), min(sold), max(amount),
count(DISTINCT item), coalesce(count_if(amount > 20), 0), sum(amount) FILTER (WHERE item = 'a')
FROM silver.orders GROUP BY customer
-- gold.deviations: keys
SELECT item, stddev(amount) AS spread, var_pop(amount) AS variance FROM silver.orders GROUP BY item
-- gold.collected: keys
SELECT customer, max_by(id, unix_timestamp(sold) * 1000 + id) AS newest,
array_join(sort_array(collect_set(item)), '+') AS items FROM silver.orders GROUP BY customer
-- duckdb
SELECT customer, arg_max(id, epoch(sold) * 1000 + id), coalesce(string_agg(DISTINCT item, '+' ORDER BY
item), '') FROM silver.orders GROUP BY customer
-- gold.by_expression: sums
SELECT customer % 3 AS part, upper(item) AS what, count(*) AS n FROM silver.orders
GROUP BY customer % 3, upper(item)
-- gold.by_nothing_known: sums
SELECT item, customer, count(*) AS n FROM silver.orders GROUP BY item, customer
-- gold.by_size: sums
SELECT CASE WHEN amount > 50 THEN 'large' WHEN amount > 10 THEN 'small' END AS size, count(*) AS n,
sum(amount) AS total FROM silver.orders GROUP BY 1
-- gold.distinct_items: keys
SELECT DISTINCT item, customer % 3 AS part FROM silver.orders
-- gold.partitioned: sums
SELECT customer, item, sum(amount) AS total FROM silver.orders WHERE customer IS NOT NULL
GROUP BY customer, item
-- settings
partition_by: ["bucket(3, customer)"]
-- gold.frequent: keys
SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer HAVING count(*) > 2
-- gold.large: keys
SELECT customer, n FROM (SELECT customer, count(*) AS n FROM silver.orders
GROUP BY customer) counted WHERE n > 2
-- gold.having_both: keys
SELECT item, count(*) AS n FROM silver.orders GROUP BY item HAVING sum(amount) > 60
AND (item <> 'b' OR item IS NULL)
-- gold.by_amount: sums
SELECT amount, count(*) AS n, min(id) AS first FROM silver.orders GROUP BY amount
-- gold.by_text: sums
SELECT CAST(id AS string) AS name, -customer AS negative, count(*) AS n FROM silver.orders
GROUP BY CAST(id AS string), -customer
-- gold.unnamed: full
SELECT count(*) AS n FROM silver.orders GROUP BY customer
-- gold.all_orders: full
SELECT count(*) AS n, sum(amount) AS total FROM silver.orders
-- gold.grouping_sets: full
SELECT customer, item, count(*) AS n FROM silver.orders
GROUP BY GROUPING SETS ((customer, item), (customer))

---- In time
-- gold.by_hour: sums
SELECT date_trunc('hour', sold) AS hour, item, count(*) AS n, max(amount) AS top FROM silver.orders
WHERE amount > 5 GROUP BY date_trunc('hour', sold), item
-- gold.tumbling: sums
SELECT window(sold, '1 hour').start AS since, count(*) AS n FROM silver.orders
GROUP BY window(sold, '1 hour')
-- duckdb
SELECT time_bucket(INTERVAL '1 hour', sold) AS since, count(*) FROM silver.orders GROUP BY since
-- gold.sliding: sums
SELECT window(sold, '20 minutes', '10 minutes').start AS since, sum(amount) AS total
FROM silver.orders GROUP BY window(sold, '20 minutes', '10 minutes')
-- duckdb
SELECT time_bucket(INTERVAL '10 minutes', sold) - back * INTERVAL '10 minutes' AS since, sum(amount)
FROM silver.orders, range(2) AS r(back) GROUP BY since
-- gold.by_day: sums
SELECT CAST(sold AS date) AS day, count(*) AS n FROM silver.orders GROUP BY CAST(sold AS date)
-- gold.window_ends: sums
SELECT window(sold, '30 minutes').end AS until, max(amount) AS top FROM silver.orders
GROUP BY window(sold, '30 minutes')
-- duckdb
SELECT time_bucket(INTERVAL '30 minutes', sold) + INTERVAL '30 minutes' AS until, max(amount)
FROM silver.orders GROUP BY until
-- gold.log_by_hour: sums
SELECT date_trunc('hour', sold) AS hour, count(*) AS n, sum(doubled) AS total FROM silver.log
GROUP BY date_trunc('hour', sold)
-- gold.dated: full
SELECT id, current_date() > DATE '2020-01-01' AS is_new FROM silver.customers
-- duckdb
SELECT id, true FROM silver.customers

---- Joined
-- gold.left_chain: keys
SELECT o.id, c.city, b.id AS other, i.category FROM silver.orders o LEFT JOIN silver.customers c
ON o.customer = c.id LEFT JOIN silver.customers b ON b.city = c.city AND b.id > c.id
LEFT JOIN silver.items i ON i.item = o.item
-- gold.joined: keys
SELECT o.id, o.item, c.city FROM silver.orders o JOIN silver.customers c ON o.customer = c.id
-- gold.left_joined: keys
SELECT o.id, o.item, c.city FROM silver.orders o LEFT JOIN silver.customers c ON o.customer = c.id
-- gold.semi_joined: keys
SELECT c.id, c.city FROM silver.customers c LEFT SEMI JOIN silver.orders o ON o.customer = c.id
AND o.amount > 20
-- duckdb
SELECT c.id, c.city FROM silver.customers c SEMI JOIN silver.orders o ON o.customer = c.id
AND o.amount > 20
-- gold.three_tables: keys
SELECT o.id, c.city, i.category, o.amount - i.price AS gain FROM silver.orders o
JOIN silver.customers c ON o.customer = c.id JOIN silver.items i ON o.item = i.item
-- gold.by_city: keys sums
SELECT c.city, count(*) AS n, sum(o.amount) AS total FROM silver.orders o JOIN silver.customers c
ON o.customer = c.id GROUP BY c.city
-- gold.by_category: full keys sums
SELECT i.category, count(*) AS n, sum(o.amount) AS total FROM silver.orders o LEFT JOIN silver.items i
ON o.item = i.item GROUP BY i.category
-- gold.same_item: keys
SELECT o.id, i.category FROM silver.orders o JOIN silver.items i ON o.item <=> i.item WHERE i.price < 50
-- duckdb
SELECT o.id, i.category FROM silver.orders o JOIN silver.items i ON o.item IS NOT DISTINCT
FROM i.item WHERE i.price < 50
-- gold.joined_sums: keys
SELECT s.customer, s.total, n.kinds FROM (SELECT customer, sum(amount) AS total
FROM silver.orders GROUP BY customer) s JOIN (SELECT customer, count(DISTINCT item) AS kinds
FROM silver.log GROUP BY customer) n ON s.customer = n.customer
-- gold.enriched_sums: keys
SELECT c.id, c.city, s.total FROM silver.customers c
LEFT JOIN (SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer) s
ON s.customer = c.id
-- gold.on_a_count: full keys
SELECT c.id, k.item FROM silver.customers c JOIN (SELECT item, count(*) AS n FROM silver.orders
GROUP BY item) k ON c.id = k.n
-- gold.without_orders: keys
SELECT c.id FROM silver.customers c LEFT ANTI JOIN silver.orders o ON o.customer = c.id
-- duckdb
SELECT c.id FROM silver.customers c ANTI JOIN silver.orders o ON o.customer = c.id
-- gold.without_dear_orders: keys
SELECT c.id, c.city FROM silver.customers c LEFT ANTI JOIN (SELECT customer FROM silver.orders
GROUP BY customer HAVING sum(amount) > 80) dear ON dear.customer = c.id
-- duckdb
SELECT c.id, c.city FROM silver.customers c ANTI JOIN (SELECT customer FROM silver.orders
GROUP BY customer HAVING sum(amount) > 80) dear ON dear.customer = c.id
-- gold.right_joined: keys
SELECT c.id, c.city, o.id AS sold FROM silver.orders o RIGHT JOIN silver.customers c
ON o.customer = c.id
-- gold.left_counted: keys
SELECT c.id, c.city, k.n FROM silver.customers c LEFT JOIN (SELECT customer, count(*) AS n
FROM silver.orders GROUP BY customer) k ON c.id = k.customer AND k.n > 2
-- gold.of_nobody: keys
SELECT o.id, o.customer FROM silver.orders o LEFT JOIN silver.customers c ON o.customer = c.id
WHERE c.city IS NULL
-- gold.implicitly_joined: keys
SELECT o.id, i.price FROM silver.orders o, silver.items i WHERE o.item = i.item AND o.amount > i.price
-- gold.joined_using: keys
SELECT id, city, n FROM silver.customers LEFT JOIN (SELECT customer AS id, max(amount) AS n
FROM silver.orders GROUP BY customer) USING (id)
-- duckdb
SELECT id, city, n FROM silver.customers LEFT JOIN (SELECT customer AS id, max(amount) AS n
FROM silver.orders GROUP BY customer) k USING (id)
-- gold.newest_with_city: keys
SELECT c.id, c.city, n.item FROM silver.customers c JOIN (SELECT customer, item, row_number()
OVER (PARTITION BY customer ORDER BY sold DESC, id) AS nth FROM silver.orders) n
ON n.customer = c.id WHERE n.nth = 1
-- gold.full_joined: full keys
SELECT coalesce(o.customer, c.id) AS id, o.item, c.city FROM silver.orders o
FULL JOIN silver.customers c ON o.customer = c.id
-- gold.pairs: keys
SELECT a.id, b.id AS other FROM silver.customers a JOIN silver.customers b ON a.city = b.city
-- gold.with_the_next: keys
SELECT a.id, a.city, b.city AS next FROM silver.customers a LEFT JOIN silver.customers b
ON b.id = a.id + 1
-- gold.parts_of_total: keys
SELECT o.id, o.customer, o.amount, t.total FROM silver.orders o
JOIN (SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer) t
ON o.customer = t.customer
-- gold.of_large_customers: keys
SELECT id, item FROM silver.orders WHERE customer IN (SELECT customer FROM silver.orders
WHERE amount > 60)
-- gold.few_of_both: keys
SELECT o.part, o.n, c.cities FROM (SELECT customer % 4 AS part, count(*) AS n FROM silver.orders
GROUP BY customer % 4 HAVING count(*) < 5) o JOIN (SELECT id % 4 AS part, count(city) AS cities
FROM silver.customers GROUP BY id % 4 HAVING count(*) < 3) c ON o.part = c.part
-- gold.few_and_cheap: keys
SELECT a.customer, a.n FROM (SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer
HAVING count(*) < 4) a JOIN (SELECT customer FROM silver.orders GROUP BY customer
HAVING max(amount) < 60) b ON a.customer = b.customer
-- gold.three_of_a_city: keys
SELECT a.city, count(*) AS n FROM silver.customers a JOIN silver.customers b ON a.city = b.city
JOIN silver.customers c ON b.city = c.city GROUP BY a.city

---- Ranked
-- gold.newest: keys
SELECT customer, id, amount FROM (SELECT *, row_number()
OVER (PARTITION BY customer ORDER BY sold DESC, id) AS nth FROM silver.orders) ranked WHERE nth <= 2
-- gold.ranks: keys
SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY item NULLS FIRST) AS place,
dense_rank() OVER (PARTITION BY customer ORDER BY item NULLS FIRST) AS dense FROM silver.orders
-- gold.running: keys
SELECT id, customer, sum(amount) OVER (PARTITION BY customer ORDER BY sold, id ROWS BETWEEN UNBOUNDED
PRECEDING AND CURRENT ROW) AS so_far, lag(amount)
OVER (PARTITION BY customer ORDER BY sold, id) AS earlier FROM silver.orders
-- gold.shares: keys
SELECT id, customer, amount, sum(amount) OVER (PARTITION BY customer) AS of_all FROM silver.orders
-- gold.dearest: keys
SELECT item, id, amount FROM (SELECT *, rank()
OVER (PARTITION BY item ORDER BY amount DESC NULLS LAST) AS nth FROM silver.orders) ranked WHERE nth = 1
-- gold.two_ranks: keys
SELECT customer, id FROM (SELECT *, row_number()
OVER (PARTITION BY customer ORDER BY sold, id) AS a, row_number()
OVER (PARTITION BY customer ORDER BY amount NULLS FIRST, id) AS b FROM silver.orders) ranked
WHERE a = 1 AND b = 1
-- gold.ranked_sums: keys
SELECT item, customer, rank() OVER (PARTITION BY item ORDER BY total DESC NULLS LAST) AS place
FROM (SELECT item, customer, sum(amount) AS total FROM silver.orders GROUP BY item, customer) sums
-- gold.two_partitions: full keys
SELECT id, count(*) OVER (PARTITION BY customer) AS of_customer, count(*)
OVER (PARTITION BY item) AS of_item FROM silver.orders
-- gold.in_all_orders: full
SELECT id, row_number() OVER (ORDER BY sold, id) AS nth FROM silver.orders

---- Combined
-- gold.both: keys
SELECT 'o' AS kind, id, item AS what FROM silver.orders
UNION ALL SELECT 'c' AS kind, id, city AS what FROM silver.customers
-- gold.names: keys
SELECT item AS name FROM silver.orders UNION SELECT city AS name FROM silver.customers
-- gold.events: keys
SELECT what, count(*) AS n FROM (SELECT item AS what FROM silver.log UNION ALL SELECT item AS what
FROM silver.orders) merged GROUP BY what
-- gold.kinds: keys
WITH per AS (SELECT customer, item, sum(amount) AS total FROM silver.orders
GROUP BY customer, item) SELECT customer, count(*) AS kinds, max(total) AS most FROM per
GROUP BY customer
-- gold.nested: keys
SELECT part, max(n) AS most FROM (SELECT part, customer, count(*) AS n
FROM (SELECT id % 2 AS part, customer FROM silver.orders WHERE customer IS NOT NULL) halves
GROUP BY part, customer) counted GROUP BY part
-- gold.exploded: keys
SELECT customer, explode(sequence(1, customer)) AS step, item FROM silver.orders
-- duckdb
SELECT customer, unnest(range(1, customer + 1)) AS step, item FROM silver.orders
-- gold.ids_twice: keys
SELECT id AS x FROM silver.orders UNION ALL SELECT customer AS x FROM silver.orders
-- gold.never: keys
SELECT id FROM silver.customers EXCEPT SELECT customer FROM silver.orders
-- gold.ever: keys
SELECT id FROM silver.customers INTERSECT SELECT customer FROM silver.orders
-- gold.so_often: full keys
SELECT customer AS id FROM silver.orders EXCEPT ALL SELECT id FROM silver.customers
-- gold.plain: keys
SELECT item, amount * 2 AS doubled FROM silver.orders WHERE customer > 2
-- gold.regions: sums
SELECT substr(city, 1, 1) AS region, sum(n) AS n, sum(total) AS total FROM gold.by_city
GROUP BY substr(city, 1, 1)
-- gold.regions_of_customers: keys
SELECT c.id, r.n FROM silver.customers c JOIN gold.regions r ON substr(c.city, 1, 1) = r.region
-- gold.dearest_two: full
SELECT id, amount FROM silver.orders ORDER BY amount DESC NULLS LAST, id LIMIT 2
-- gold.above_mean: full
SELECT id FROM silver.orders WHERE amount > (SELECT max(price) FROM silver.items)
-- gold.listed: full keys
SELECT id, item FROM silver.orders WHERE item IN (SELECT item FROM silver.items)

---- With subqueries
-- gold.bought: keys
SELECT id, city FROM silver.customers c WHERE EXISTS (SELECT 1 FROM silver.orders o
WHERE o.customer = c.id AND o.item = 'a')
-- gold.never_bought: keys
SELECT id, city FROM silver.customers c WHERE NOT EXISTS (SELECT 1 FROM silver.orders o
WHERE o.customer = c.id)
-- gold.buyers: keys
SELECT id, city FROM silver.customers WHERE id IN (SELECT customer FROM silver.orders WHERE amount > 40)
-- gold.not_listed: keys
SELECT id FROM silver.customers WHERE id NOT IN (SELECT customer FROM silver.orders WHERE amount > 60)
-- gold.or_exists: full
SELECT id, city FROM silver.customers c WHERE city = 'Oslo' OR EXISTS (SELECT 1
FROM silver.orders o WHERE o.customer = c.id)

---- With a key or rules of their own
-- gold.newest_of_customer: keys
SELECT o.customer, o.id, c.city, o.sold FROM silver.orders o JOIN silver.customers c
ON o.customer = c.id
-- duckdb
SELECT o.customer, o.id, c.city, o.sold FROM silver.orders o JOIN silver.customers c
ON o.customer = c.id QUALIFY row_number() OVER (PARTITION BY o.customer ORDER BY o.sold DESC NULLS LAST,
o.id DESC) = 1
-- settings
key: [customer]
latest_by: [sold, id]
-- gold.newest_of_any: keys
SELECT customer, id, sold, item FROM silver.orders
UNION ALL SELECT customer, id, sold, upper(item) AS item FROM silver.log
-- duckdb
SELECT customer, id, sold, item FROM (SELECT customer, id, sold, item FROM silver.orders
UNION ALL SELECT customer, id, sold, upper(item) FROM silver.log) WHERE customer IS NOT NULL
QUALIFY row_number() OVER (PARTITION BY customer ORDER BY sold DESC NULLS LAST, id DESC, item DESC NULLS
LAST) = 1
-- settings
key: [customer]
latest_by: [sold, id]
-- gold.small: keys
SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders GROUP BY customer
-- duckdb
SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders GROUP BY customer
HAVING count(*) < 3
-- settings
rules: |
  Rules = [ ColumnValues "n" < 3 ]
-- gold.past_of_customer: keys
SELECT customer, id, sold, item, amount FROM silver.orders
-- duckdb
WITH versions AS ( SELECT customer, id, sold, item, amount, coalesce(item = 'd', false) AS deletes
FROM silver.orders WHERE customer IS NOT NULL), opened AS ( SELECT *, NOT deletes
AND (coalesce(lag(deletes) OVER w, true) OR item IS DISTINCT FROM lag(item)
OVER w OR amount IS DISTINCT FROM lag(amount) OVER w) AS opens
FROM versions WINDOW w AS (PARTITION BY customer ORDER BY sold NULLS FIRST, id)), placed AS ( SELECT *,
sum(opens::int) OVER w AS nth, lead(opens OR deletes) OVER w AS ends, lead(sold)
OVER w AS until, lead(id) OVER w IS NULL AS is_last
FROM opened WINDOW w AS (PARTITION BY customer ORDER BY sold NULLS FIRST, id)) SELECT customer, id,
sold, item, amount, first_value(sold) OVER (PARTITION BY customer, nth ORDER BY sold NULLS FIRST, id),
until, is_last FROM placed WHERE NOT deletes QUALIFY is_last OR ends
-- settings
key: [customer]
latest_by: [sold, id]
delete_when: item = 'd'
history: type2

---- In Python
-- silver.py_log: append
SELECT id, customer, upper(item) AS item, amount * 2 AS doubled FROM bronze.orders WHERE op <> 'D'
-- python
orders.where("op <> 'D'").selectExpr("id", "customer", "upper(item) AS item", "amount * 2 AS doubled")
-- gold.py_totals: sums
SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders WHERE item <> 'd'
GROUP BY customer
-- python
orders.where("item <> 'd'").groupBy("customer").agg(
    F.count("*").alias("n"), F.sum("amount").alias("total"))
-- gold.py_of_cities: keys
SELECT c.city, count(*) AS n, avg(o.amount) AS mean FROM silver.orders o JOIN silver.customers c
ON o.customer = c.id GROUP BY c.city
-- python
orders.join(customers, orders.customer == customers.id).groupBy("city").agg(
    F.count("*").alias("n"), F.avg("amount").alias("mean"))
-- gold.py_dearest: keys
SELECT customer, id, amount FROM silver.orders QUALIFY row_number()
OVER (PARTITION BY customer ORDER BY amount DESC NULLS LAST, id) = 1
-- python
orders.withColumn("nth", F.row_number().over(
    Window.partitionBy("customer").orderBy(F.desc_nulls_last("amount"), "id"))).where(
    "nth = 1").select("customer", "id", "amount")
