SELECT
  x_edge_request_id AS request_id, event_time, CAST(event_time AS date) AS day,
  x_edge_location AS edge, c_country AS country, cs_method AS method, cs_uri_stem AS path,
  url_parts(cs_uri_stem).extension AS extension, sc_status AS status, x_edge_result_type AS result,
  sc_bytes AS bytes, time_taken AS seconds,
  user_agent(cs_user_agent).family AS browser, user_agent(cs_user_agent).is_bot AS is_bot,
  truncated_address(c_ip) AS network
FROM bronze.requests
