-- Gold tables that compute something of values that rows are grouped by, and how each is refreshed.
-- counted_beside: full
SELECT concat('x', x) AS t, id, c FROM (SELECT x, id, count(*) OVER (PARTITION BY x) AS c FROM bronze.a)
-- grouped_below: full
SELECT concat('x', x) AS t, m FROM (SELECT x, avg(n) AS m FROM bronze.a GROUP BY x)
-- distinct_below: full
SELECT concat('x', x) AS t, floor(x) AS f FROM (SELECT DISTINCT x FROM bronze.a)
-- beside_its_group: full
SELECT concat('x', x) AS t, avg(n) AS m FROM bronze.a GROUP BY x
-- map_below: full
SELECT to_json(m) AS t, c FROM (SELECT map(x, 1, 7D, 1) AS m, avg(n) AS c FROM bronze.a
GROUP BY map(x, 1, 7D, 1))
-- ranked: keys
SELECT concat('x', x) AS t, x, id, nth FROM (SELECT x, id, row_number()
OVER (PARTITION BY x ORDER BY id) AS nth FROM bronze.a) WHERE nth <= 2
-- by_itself: keys
SELECT concat('x', x) AS t, x, m FROM (SELECT x, avg(n) AS m FROM bronze.a GROUP BY x) WHERE x < 5
-- by_number_too: keys
SELECT concat('x', x) AS t, n FROM (SELECT x, n FROM bronze.a UNION SELECT x, n FROM bronze.b)
-- by_floor: keys
SELECT floor(x) AS f, avg(n) AS m FROM bronze.a WHERE NOT isnan(x) GROUP BY floor(x)
-- by_its_text: keys
SELECT concat('x', x) AS t, x, avg(n) AS m FROM bronze.a GROUP BY x, concat('x', x)
-- joined: keys
SELECT concat('x', a.x) AS t, a.id, b.m FROM bronze.a AS a JOIN (SELECT x, avg(n) AS m
FROM bronze.b GROUP BY x) AS b ON a.x = b.x
-- no_texts: keys
SELECT CAST(unhex(hex) AS string) AS t, avg(n) AS m FROM bronze.a GROUP BY CAST(unhex(hex) AS string)
-- no_texts_summed: sums
SELECT CAST(unhex(hex) AS string) AS t, sum(n) AS s, count(*) AS c FROM bronze.a
GROUP BY CAST(unhex(hex) AS string)
