-- Queries that were once refreshed wrongly, failed or stood still: gold tables and how each is refreshed.
-- window_of_an_expression: keys
SELECT window(at + INTERVAL 5 HOURS, '1 hour').start AS since, avg(n) AS mean FROM bronze.a
GROUP BY window(at + INTERVAL 5 HOURS, '1 hour')
-- window_of_a_number: keys
SELECT window(timestamp_seconds(n * 1000), '1 hour').start AS since, avg(id) AS mean
FROM bronze.a GROUP BY window(timestamp_seconds(n * 1000), '1 hour')
-- by_window: sums
SELECT window(at, '1 hour') AS win, count(*) AS c FROM bronze.a GROUP BY window(at, '1 hour')
-- trunc_to_a_day: keys
SELECT trunc(to_date(at), 'DAY') AS t, avg(n) AS mean FROM bronze.a GROUP BY trunc(to_date(at), 'DAY')
-- variables: keys
SELECT k, avg(n) AS mean FROM bronze.a GROUP BY k
-- no_text: keys
SELECT CAST(unhex(hex) AS string) AS t, avg(n) AS mean FROM bronze.a GROUP BY CAST(unhex(hex) AS string)
-- early_and_late_days: keys
SELECT CAST(day AS date) AS d, avg(n) AS mean FROM bronze.a GROUP BY CAST(day AS date)
-- early_and_late_times: keys
SELECT CAST(day AS timestamp_ntz) AS t, avg(n) AS mean FROM bronze.a GROUP BY CAST(day AS timestamp_ntz)
-- small_numbers: sums
SELECT CAST(n % 3 AS smallint) AS part, count(*) AS c FROM bronze.a GROUP BY CAST(n % 3 AS smallint)
-- small_rows: append
SELECT id, CAST(n AS tinyint) AS tiny, k COLLATE UTF8_LCASE AS folded FROM bronze.a
-- zeros: full
SELECT CAST(z AS string) AS t FROM (SELECT CASE n WHEN 1 THEN -0.0D ELSE n + 0.0D END AS z
FROM bronze.a EXCEPT SELECT CAST(n + 100 AS double) FROM bronze.b)
-- exists_in_exists: full
SELECT id FROM bronze.a x WHERE EXISTS (SELECT 1 FROM bronze.b y WHERE y.k = x.k
AND EXISTS (SELECT 1 FROM bronze.a z WHERE z.id = y.id))
-- in_in_exists: full
SELECT id FROM bronze.a x WHERE EXISTS (SELECT 1 FROM bronze.b y WHERE y.k = x.k
AND y.id IN (SELECT z.id FROM bronze.a z WHERE z.k = y.k))
-- cast_of_what_is_kept_out: full
SELECT CAST(a.txt AS int) AS number, a.id FROM bronze.a a LEFT ANTI JOIN bronze.b b ON a.txt = b.txt
-- on_a_count_alone: full
SELECT a.id, c.n FROM bronze.a a JOIN (SELECT k, count(*) AS n FROM bronze.b GROUP BY k) c
ON a.n = c.n AND a.id > 0
-- folded: full
SELECT CAST(txt COLLATE UTF8_LCASE AS string) AS t, avg(n) AS mean FROM bronze.a WHERE txt < 'a'
GROUP BY txt COLLATE UTF8_LCASE
-- from_today: full
SELECT id FROM bronze.a WHERE CAST(at AS date) < 'tomorrow'
-- of_windows: keys
SELECT win, c FROM gold.by_window WHERE c > 1
-- windows_again: keys
SELECT win, avg(c) AS mean FROM gold.by_window GROUP BY win
