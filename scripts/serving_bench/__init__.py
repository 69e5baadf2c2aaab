"""A load test of an HTTP endpoint that serves a model, as `neuronkit bench-serving` runs it.

settings    what was asked for: frozen, with bounds                                  (pure)
arrivals    when open-loop requests are meant to start                               (pure)
bodies      what is posted: prompts of a length or of a file                          (pure but for the file)
sse         bytes of an event stream -> the data of its events                        (pure)
answers     what an answer says: tokens, their count, its end                         (pure)
http_client one HTTP/1.1 exchange over asyncio's streams, connections used again
load        open and closed loop, bounded in time, count and memory
recorder    what was measured: histograms of fixed size, counts, errors by kind       (pure)
report      the stable document and the table                                         (pure)
"""
