"""The library of query shapes whose refresh is held against DuckDB: what people write in gold tables, one of each kind.

A shape is marked with how it may be refreshed once it is built, so that one that silently becomes ``full`` fails. The queries
read three keyed silver tables (``orders``, ``customers``, ``items``), an append-only one (``log``), and each other.
"""

from typing import Final

from shape import APPEND, EITHER, FULL, KEYS, SUMS, Shape, gold

ROW_BY_ROW = (
    Shape(
        "silver.log",
        "SELECT id, customer, upper(item) AS item, amount * 2 AS doubled, sold FROM bronze.orders WHERE op <> 'D'",
        APPEND,
    ),
    Shape(
        "silver.sizes",
        "SELECT id, CASE WHEN amount > 50 THEN 'large' WHEN amount > 10 THEN 'small' ELSE 'tiny' END AS size"
        " FROM bronze.orders WHERE amount IS NOT NULL",
        APPEND,
    ),
    Shape("silver.sizes_again", "SELECT size, id % 2 AS part FROM silver.sizes WHERE size <> 'tiny'", APPEND),
)

GROUPED = (
    gold(
        "aggregates",
        "SELECT customer, count(*) AS n, count(amount) AS known, sum(amount) AS total, avg(amount) AS mean,"
        " min(sold) AS earliest, max(amount) AS most, count(DISTINCT item) AS items, count_if(amount > 20) AS large,"
        " sum(amount) FILTER (WHERE item = 'a') AS of_a FROM silver.orders GROUP BY customer",
        duckdb="SELECT customer, count(*), count(amount), sum(amount), avg(amount), min(sold), max(amount), count(DISTINCT item),"
        " coalesce(count_if(amount > 20), 0), sum(amount) FILTER (WHERE item = 'a') FROM silver.orders GROUP BY customer",
    ),
    gold(
        "deviations",
        "SELECT item, stddev(amount) AS spread, var_pop(amount) AS variance FROM silver.orders GROUP BY item",
    ),
    gold(
        "collected",
        "SELECT customer, max_by(id, unix_timestamp(sold) * 1000 + id) AS newest,"
        " array_join(sort_array(collect_set(item)), '+') AS items FROM silver.orders GROUP BY customer",
        duckdb="SELECT customer, arg_max(id, epoch(sold) * 1000 + id), coalesce(string_agg(DISTINCT item, '+' ORDER BY item), '')"
        " FROM silver.orders GROUP BY customer",
    ),
    gold(
        "by_expression",
        "SELECT customer % 3 AS part, upper(item) AS what, count(*) AS n FROM silver.orders GROUP BY customer % 3, upper(item)",
        SUMS,
    ),
    gold(
        "by_nothing_known",
        "SELECT item, customer, count(*) AS n FROM silver.orders GROUP BY item, customer",
        SUMS,
    ),
    gold(
        "by_size",
        "SELECT CASE WHEN amount > 50 THEN 'large' WHEN amount > 10 THEN 'small' END AS size, count(*) AS n,"
        " sum(amount) AS total FROM silver.orders GROUP BY 1",
        SUMS,
    ),
    gold("distinct_items", "SELECT DISTINCT item, customer % 3 AS part FROM silver.orders"),
    gold(
        "partitioned",
        "SELECT customer, item, sum(amount) AS total FROM silver.orders WHERE customer IS NOT NULL GROUP BY customer, item",
        SUMS,
        settings='partition_by: ["bucket(3, customer)"]\n',
    ),
    gold(
        "frequent", "SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer HAVING count(*) > 2"
    ),
    gold(
        "large",
        "SELECT customer, n FROM (SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer) counted WHERE n > 2",
    ),
    gold(
        "having_both",
        "SELECT item, count(*) AS n FROM silver.orders GROUP BY item HAVING sum(amount) > 60 AND (item <> 'b' OR item IS NULL)",
    ),
    gold(
        "by_amount", "SELECT amount, count(*) AS n, min(id) AS first FROM silver.orders GROUP BY amount", SUMS
    ),
    gold(
        "by_text",
        "SELECT CAST(id AS string) AS name, -customer AS negative, count(*) AS n FROM silver.orders"
        " GROUP BY CAST(id AS string), -customer",
        SUMS,
    ),
    gold("unnamed", "SELECT count(*) AS n FROM silver.orders GROUP BY customer", FULL),
    gold("all_orders", "SELECT count(*) AS n, sum(amount) AS total FROM silver.orders", FULL),
    gold(
        "grouping_sets",
        "SELECT customer, item, count(*) AS n FROM silver.orders GROUP BY GROUPING SETS ((customer, item), (customer))",
        FULL,
    ),
)

IN_TIME = (
    gold(
        "by_hour",
        "SELECT date_trunc('hour', sold) AS hour, item, count(*) AS n, max(amount) AS top FROM silver.orders"
        " WHERE amount > 5 GROUP BY date_trunc('hour', sold), item",
        SUMS,
    ),
    gold(
        "tumbling",
        "SELECT window(sold, '1 hour').start AS since, count(*) AS n FROM silver.orders GROUP BY window(sold, '1 hour')",
        SUMS,
        duckdb="SELECT time_bucket(INTERVAL '1 hour', sold) AS since, count(*) FROM silver.orders GROUP BY since",
    ),
    gold(
        "sliding",
        "SELECT window(sold, '20 minutes', '10 minutes').start AS since, sum(amount) AS total FROM silver.orders"
        " GROUP BY window(sold, '20 minutes', '10 minutes')",
        SUMS,
        duckdb="SELECT time_bucket(INTERVAL '10 minutes', sold) - back * INTERVAL '10 minutes' AS since, sum(amount)"
        " FROM silver.orders, range(2) AS r(back) GROUP BY since",
    ),
    gold("by_day", "SELECT CAST(sold AS date) AS day, count(*) AS n FROM silver.orders GROUP BY CAST(sold AS date)", SUMS),
    gold(
        "window_ends",
        "SELECT window(sold, '30 minutes').end AS until, max(amount) AS top FROM silver.orders GROUP BY window(sold, '30 minutes')",
        SUMS,
        duckdb="SELECT time_bucket(INTERVAL '30 minutes', sold) + INTERVAL '30 minutes' AS until, max(amount)"
        " FROM silver.orders GROUP BY until",
    ),
    gold(
        "log_by_hour",
        "SELECT date_trunc('hour', sold) AS hour, count(*) AS n, sum(doubled) AS total FROM silver.log"
        " GROUP BY date_trunc('hour', sold)",
        SUMS,
    ),
    gold("dated", "SELECT id, current_date() > DATE '2020-01-01' AS is_new FROM silver.customers", FULL,
          duckdb="SELECT id, true FROM silver.customers"),
)  # fmt: skip

JOINED = (
    gold(
        "left_chain",
        "SELECT o.id, c.city, b.id AS other, i.category FROM silver.orders o LEFT JOIN silver.customers c ON o.customer = c.id"
        " LEFT JOIN silver.customers b ON b.city = c.city AND b.id > c.id LEFT JOIN silver.items i ON i.item = o.item",
    ),
    gold(
        "joined",
        "SELECT o.id, o.item, c.city FROM silver.orders o JOIN silver.customers c ON o.customer = c.id",
    ),
    gold(
        "left_joined",
        "SELECT o.id, o.item, c.city FROM silver.orders o LEFT JOIN silver.customers c ON o.customer = c.id",
    ),
    gold(
        "semi_joined",
        "SELECT c.id, c.city FROM silver.customers c LEFT SEMI JOIN silver.orders o ON o.customer = c.id AND o.amount > 20",
        duckdb="SELECT c.id, c.city FROM silver.customers c SEMI JOIN silver.orders o ON o.customer = c.id AND o.amount > 20",
    ),
    gold(
        "three_tables",
        "SELECT o.id, c.city, i.category, o.amount - i.price AS gain FROM silver.orders o"
        " JOIN silver.customers c ON o.customer = c.id JOIN silver.items i ON o.item = i.item",
    ),
    gold(
        "by_city",
        "SELECT c.city, count(*) AS n, sum(o.amount) AS total FROM silver.orders o"
        " JOIN silver.customers c ON o.customer = c.id GROUP BY c.city",
        SUMS | KEYS,
    ),
    gold(
        "by_category",
        "SELECT i.category, count(*) AS n, sum(o.amount) AS total FROM silver.orders o"
        " LEFT JOIN silver.items i ON o.item = i.item GROUP BY i.category",
        SUMS | EITHER,
    ),
    gold(
        "same_item",
        "SELECT o.id, i.category FROM silver.orders o JOIN silver.items i ON o.item <=> i.item WHERE i.price < 50",
        duckdb="SELECT o.id, i.category FROM silver.orders o JOIN silver.items i ON o.item IS NOT DISTINCT FROM i.item"
        " WHERE i.price < 50",
    ),
    gold(
        "joined_sums",
        "SELECT s.customer, s.total, n.kinds FROM (SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer) s"
        " JOIN (SELECT customer, count(DISTINCT item) AS kinds FROM silver.log GROUP BY customer) n"
        " ON s.customer = n.customer",
    ),
    gold(
        "enriched_sums",
        "SELECT c.id, c.city, s.total FROM silver.customers c LEFT JOIN"
        " (SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer) s ON s.customer = c.id",
    ),
    gold(
        "on_a_count",
        "SELECT c.id, k.item FROM silver.customers c"
        " JOIN (SELECT item, count(*) AS n FROM silver.orders GROUP BY item) k ON c.id = k.n",
        EITHER,
    ),
    gold(
        "without_orders",
        "SELECT c.id FROM silver.customers c LEFT ANTI JOIN silver.orders o ON o.customer = c.id",
        duckdb="SELECT c.id FROM silver.customers c ANTI JOIN silver.orders o ON o.customer = c.id",
    ),
    gold(
        "without_dear_orders",
        "SELECT c.id, c.city FROM silver.customers c LEFT ANTI JOIN (SELECT customer FROM silver.orders GROUP BY customer"
        " HAVING sum(amount) > 80) dear ON dear.customer = c.id",
        duckdb="SELECT c.id, c.city FROM silver.customers c ANTI JOIN (SELECT customer FROM silver.orders GROUP BY customer"
        " HAVING sum(amount) > 80) dear ON dear.customer = c.id",
    ),
    gold(
        "right_joined",
        "SELECT c.id, c.city, o.id AS sold FROM silver.orders o RIGHT JOIN silver.customers c ON o.customer = c.id",
    ),
    gold(
        "left_counted",
        "SELECT c.id, c.city, k.n FROM silver.customers c LEFT JOIN"
        " (SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer) k ON c.id = k.customer AND k.n > 2",
    ),
    gold(
        "of_nobody",
        "SELECT o.id, o.customer FROM silver.orders o LEFT JOIN silver.customers c ON o.customer = c.id WHERE c.city IS NULL",
    ),
    gold(
        "implicitly_joined",
        "SELECT o.id, i.price FROM silver.orders o, silver.items i WHERE o.item = i.item AND o.amount > i.price",
    ),
    gold(
        "joined_using",
        "SELECT id, city, n FROM silver.customers LEFT JOIN"
        " (SELECT customer AS id, max(amount) AS n FROM silver.orders GROUP BY customer) USING (id)",
        duckdb="SELECT id, city, n FROM silver.customers LEFT JOIN"
        " (SELECT customer AS id, max(amount) AS n FROM silver.orders GROUP BY customer) k USING (id)",
    ),
    gold(
        "newest_with_city",
        "SELECT c.id, c.city, n.item FROM silver.customers c JOIN (SELECT customer, item, row_number() OVER"
        " (PARTITION BY customer ORDER BY sold DESC, id) AS nth FROM silver.orders) n ON n.customer = c.id WHERE n.nth = 1",
    ),
    gold(
        "full_joined",
        "SELECT coalesce(o.customer, c.id) AS id, o.item, c.city FROM silver.orders o"
        " FULL JOIN silver.customers c ON o.customer = c.id",
        EITHER,
    ),
    gold(
        "pairs",
        "SELECT a.id, b.id AS other FROM silver.customers a JOIN silver.customers b ON a.city = b.city",
    ),
    gold(
        "with_the_next",
        "SELECT a.id, a.city, b.city AS next FROM silver.customers a LEFT JOIN silver.customers b ON b.id = a.id + 1",
    ),
    gold(
        "parts_of_total",
        "SELECT o.id, o.customer, o.amount, t.total FROM silver.orders o"
        " JOIN (SELECT customer, sum(amount) AS total FROM silver.orders GROUP BY customer) t ON o.customer = t.customer",
    ),
    gold(
        "of_large_customers",
        "SELECT id, item FROM silver.orders WHERE customer IN (SELECT customer FROM silver.orders WHERE amount > 60)",
    ),
    gold(
        "few_of_both",
        "SELECT o.part, o.n, c.cities FROM (SELECT customer % 4 AS part, count(*) AS n FROM silver.orders GROUP BY customer % 4"
        " HAVING count(*) < 5) o JOIN (SELECT id % 4 AS part, count(city) AS cities FROM silver.customers GROUP BY id % 4"
        " HAVING count(*) < 3) c ON o.part = c.part",
    ),
    gold(
        "few_and_cheap",
        "SELECT a.customer, a.n FROM (SELECT customer, count(*) AS n FROM silver.orders GROUP BY customer HAVING count(*) < 4) a"
        " JOIN (SELECT customer FROM silver.orders GROUP BY customer HAVING max(amount) < 60) b ON a.customer = b.customer",
    ),
    gold(
        "three_of_a_city",
        "SELECT a.city, count(*) AS n FROM silver.customers a JOIN silver.customers b ON a.city = b.city"
        " JOIN silver.customers c ON b.city = c.city GROUP BY a.city",
    ),
)

RANKED = (
    gold(
        "newest",
        "SELECT customer, id, amount FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY sold DESC, id)"
        " AS nth FROM silver.orders) ranked WHERE nth <= 2",
    ),
    gold(
        "ranks",
        "SELECT id, customer, rank() OVER (PARTITION BY customer ORDER BY item NULLS FIRST) AS place,"
        " dense_rank() OVER (PARTITION BY customer ORDER BY item NULLS FIRST) AS dense FROM silver.orders",
    ),
    gold(
        "running",
        "SELECT id, customer, sum(amount) OVER (PARTITION BY customer ORDER BY sold, id"
        " ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS so_far,"
        " lag(amount) OVER (PARTITION BY customer ORDER BY sold, id) AS earlier FROM silver.orders",
    ),
    gold("shares", "SELECT id, customer, amount, sum(amount) OVER (PARTITION BY customer) AS of_all FROM silver.orders"),
    gold(
        "dearest",
        "SELECT item, id, amount FROM (SELECT *, rank() OVER (PARTITION BY item ORDER BY amount DESC NULLS LAST) AS nth"
        " FROM silver.orders) ranked WHERE nth = 1",
    ),
    gold(
        "two_ranks",
        "SELECT customer, id FROM (SELECT *, row_number() OVER (PARTITION BY customer ORDER BY sold, id) AS a,"
        " row_number() OVER (PARTITION BY customer ORDER BY amount NULLS FIRST, id) AS b FROM silver.orders) ranked"
        " WHERE a = 1 AND b = 1",
    ),
    gold(
        "ranked_sums",
        "SELECT item, customer, rank() OVER (PARTITION BY item ORDER BY total DESC NULLS LAST) AS place FROM"
        " (SELECT item, customer, sum(amount) AS total FROM silver.orders GROUP BY item, customer) sums",
    ),
    gold(
        "two_partitions",
        "SELECT id, count(*) OVER (PARTITION BY customer) AS of_customer, count(*) OVER (PARTITION BY item) AS of_item"
        " FROM silver.orders",
        EITHER,
    ),
    gold(
        "in_all_orders",
        "SELECT id, row_number() OVER (ORDER BY sold, id) AS nth FROM silver.orders",
        FULL,
    ),
)  # fmt: skip

COMBINED = (
    gold(
        "both",
        "SELECT 'o' AS kind, id, item AS what FROM silver.orders UNION ALL SELECT 'c' AS kind, id, city AS what FROM silver.customers",
    ),
    gold("names", "SELECT item AS name FROM silver.orders UNION SELECT city AS name FROM silver.customers"),
    gold(
        "events",
        "SELECT what, count(*) AS n FROM (SELECT item AS what FROM silver.log UNION ALL SELECT item AS what FROM silver.orders)"
        " merged GROUP BY what",
    ),
    gold(
        "kinds",
        "WITH per AS (SELECT customer, item, sum(amount) AS total FROM silver.orders GROUP BY customer, item)"
        " SELECT customer, count(*) AS kinds, max(total) AS most FROM per GROUP BY customer",
    ),
    gold(
        "nested",
        "SELECT part, max(n) AS most FROM (SELECT part, customer, count(*) AS n FROM (SELECT id % 2 AS part, customer"
        " FROM silver.orders WHERE customer IS NOT NULL) halves GROUP BY part, customer) counted GROUP BY part",
    ),
    gold(
        "exploded",
        "SELECT customer, explode(sequence(1, customer)) AS step, item FROM silver.orders",
        duckdb="SELECT customer, unnest(range(1, customer + 1)) AS step, item FROM silver.orders",
    ),
    gold("ids_twice", "SELECT id AS x FROM silver.orders UNION ALL SELECT customer AS x FROM silver.orders"),
    gold("never", "SELECT id FROM silver.customers EXCEPT SELECT customer FROM silver.orders"),
    gold("ever", "SELECT id FROM silver.customers INTERSECT SELECT customer FROM silver.orders"),
    gold("so_often", "SELECT customer AS id FROM silver.orders EXCEPT ALL SELECT id FROM silver.customers", EITHER),
    gold("plain", "SELECT item, amount * 2 AS doubled FROM silver.orders WHERE customer > 2"),
    gold("regions", "SELECT substr(city, 1, 1) AS region, sum(n) AS n, sum(total) AS total FROM gold.by_city GROUP BY substr(city, 1, 1)", SUMS),
    gold("regions_of_customers", "SELECT c.id, r.n FROM silver.customers c JOIN gold.regions r ON substr(c.city, 1, 1) = r.region"),
    gold("dearest_two", "SELECT id, amount FROM silver.orders ORDER BY amount DESC NULLS LAST, id LIMIT 2", FULL),
    gold("above_mean", "SELECT id FROM silver.orders WHERE amount > (SELECT max(price) FROM silver.items)", FULL),
    gold("listed", "SELECT id, item FROM silver.orders WHERE item IN (SELECT item FROM silver.items)", EITHER),
)  # fmt: skip

NEWEST_FIRST: Final = "key: [customer]\nlatest_by: [sold, id]\n"
WITH_OWN_KEY = (
    gold(
        "newest_of_customer",
        "SELECT o.customer, o.id, c.city, o.sold FROM silver.orders o JOIN silver.customers c ON o.customer = c.id",
        settings=NEWEST_FIRST,
        duckdb="SELECT o.customer, o.id, c.city, o.sold FROM silver.orders o JOIN silver.customers c ON o.customer = c.id"
        " QUALIFY row_number() OVER (PARTITION BY o.customer ORDER BY o.sold DESC NULLS LAST, o.id DESC) = 1",
    ),
    gold(
        "newest_of_any",
        "SELECT customer, id, sold, item FROM silver.orders UNION ALL SELECT customer, id, sold, upper(item) AS item FROM silver.log",
        settings=NEWEST_FIRST,
        duckdb="SELECT customer, id, sold, item FROM (SELECT customer, id, sold, item FROM silver.orders"
        " UNION ALL SELECT customer, id, sold, upper(item) FROM silver.log) WHERE customer IS NOT NULL QUALIFY row_number() OVER"
        " (PARTITION BY customer ORDER BY sold DESC NULLS LAST, id DESC, item DESC NULLS LAST) = 1",
    ),
    gold(
        "small",
        "SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders GROUP BY customer",
        settings='rules: |\n  Rules = [ ColumnValues "n" < 3 ]\n',
        duckdb="SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders GROUP BY customer HAVING count(*) < 3",
    ),
    gold(
        "past_of_customer",
        "SELECT customer, id, sold, item, amount FROM silver.orders",
        settings=f"{NEWEST_FIRST}delete_when: item = 'd'\nhistory: type2\n",
        duckdb="""
        WITH versions AS (
            SELECT customer, id, sold, item, amount, coalesce(item = 'd', false) AS deletes FROM silver.orders
            WHERE customer IS NOT NULL),
        opened AS (
            SELECT *, NOT deletes AND (coalesce(lag(deletes) OVER w, true)
                OR item IS DISTINCT FROM lag(item) OVER w OR amount IS DISTINCT FROM lag(amount) OVER w) AS opens
            FROM versions WINDOW w AS (PARTITION BY customer ORDER BY sold NULLS FIRST, id)),
        placed AS (
            SELECT *, sum(opens::int) OVER w AS nth, lead(opens OR deletes) OVER w AS ends, lead(sold) OVER w AS until,
                lead(id) OVER w IS NULL AS is_last
            FROM opened WINDOW w AS (PARTITION BY customer ORDER BY sold NULLS FIRST, id))
        SELECT customer, id, sold, item, amount, first_value(sold) OVER (PARTITION BY customer, nth ORDER BY sold NULLS FIRST, id),
            until, is_last
        FROM placed WHERE NOT deletes QUALIFY is_last OR ends
        """,
    ),
)  # fmt: skip

IN_PYTHON = (
    Shape(
        "silver.py_log",
        "SELECT id, customer, upper(item) AS item, amount * 2 AS doubled FROM bronze.orders WHERE op <> 'D'",
        APPEND,
        python="""orders.where("op <> 'D'").selectExpr("id", "customer", "upper(item) AS item", "amount * 2 AS doubled")""",
    ),
    gold(
        "py_totals",
        "SELECT customer, count(*) AS n, sum(amount) AS total FROM silver.orders WHERE item <> 'd' GROUP BY customer",
        SUMS,
        python="""orders.where("item <> 'd'").groupBy("customer").agg(F.count("*").alias("n"), F.sum("amount").alias("total"))""",
    ),
    gold(
        "py_of_cities",
        "SELECT c.city, count(*) AS n, avg(o.amount) AS mean FROM silver.orders o JOIN silver.customers c ON o.customer = c.id"
        " GROUP BY c.city",
        python="""orders.join(customers, orders.customer == customers.id).groupBy("city").agg("""
        """F.count("*").alias("n"), F.avg("amount").alias("mean"))""",
    ),
    gold(
        "py_dearest",
        "SELECT customer, id, amount FROM silver.orders"
        " QUALIFY row_number() OVER (PARTITION BY customer ORDER BY amount DESC NULLS LAST, id) = 1",
        python="""orders.withColumn("nth", F.row_number().over(Window.partitionBy("customer").orderBy("""
        """F.desc_nulls_last("amount"), "id"))).where("nth = 1").select("customer", "id", "amount")""",
    ),
)

SHAPES: Final = (*ROW_BY_ROW, *GROUPED, *IN_TIME, *JOINED, *RANKED, *COMBINED, *WITH_OWN_KEY, *IN_PYTHON)
BY_NAME: Final = {shape.name: shape for shape in SHAPES}


def with_inputs(shapes: tuple[Shape, ...]) -> tuple[Shape, ...]:
    """The shapes and all that they read, each after its inputs."""
    wanted = {shape.name for shape in shapes}
    while more := {name for each in wanted for name in BY_NAME[each].inputs if name in BY_NAME} - wanted:
        wanted |= more
    return tuple(shape for shape in SHAPES if shape.name in wanted)
