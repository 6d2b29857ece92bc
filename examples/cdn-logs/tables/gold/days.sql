SELECT
  day, count(*) AS requests, sum(bytes) AS bytes,
  count_if(result = 'Hit' AND method != 'POST') AS hits,
  count_if(method != 'POST' AND status BETWEEN 200 AND 399) AS cacheable,
  round(try_divide(count_if(result = 'Hit' AND method != 'POST'),
    count_if(method != 'POST' AND status BETWEEN 200 AND 399)), 3) AS hit_ratio,
  count_if(status >= 400) AS errors, count_if(is_bot) AS bots,
  round(percentile(seconds, 0.5), 3) AS p50, round(percentile(seconds, 0.95), 3) AS p95,
  round(percentile(seconds, 0.99), 3) AS p99
FROM silver.requests
GROUP BY day
