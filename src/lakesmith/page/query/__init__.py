"""The page that runs queries: ``handlers`` answers, ``engine`` has them run, ``chart`` draws results."""
