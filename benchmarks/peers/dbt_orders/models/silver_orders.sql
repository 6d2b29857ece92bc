{% if var('silver') == 'rebuilt' %}
{{ config(materialized='table') }}
{% else %}
{{ config(materialized='incremental', incremental_strategy='merge', unique_key='order_id') }}
{% endif %}
WITH changes AS (
    SELECT op, changed_at, order_id, customer_id, region, category, quantity, amount, loaded_at
    FROM {{ ref('bronze_orders') }}
    {% if is_incremental() %} WHERE loaded_at > (SELECT max(loaded_at) FROM {{ this }}) {% endif %}
    {% if is_incremental() %}
    -- What is known of the same orders, deleted ones too: an older change may come late.
    UNION ALL
    SELECT known.* FROM {{ this }} AS known LEFT SEMI JOIN (
        SELECT order_id FROM {{ ref('bronze_orders') }} WHERE loaded_at > (SELECT max(loaded_at) FROM {{ this }})
    ) AS changed ON known.order_id = changed.order_id
    {% endif %}
)
SELECT op, changed_at, order_id, customer_id, region, category, quantity, amount, loaded_at
FROM (SELECT *, row_number() OVER (PARTITION BY order_id ORDER BY changed_at DESC) AS rank FROM changes)
WHERE rank = 1 {% if var('silver') == 'rebuilt' %} AND op <> 'D' {% endif %}
