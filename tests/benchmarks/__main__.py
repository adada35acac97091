"""`make bench`: the encoder beside its peers, then a whole job."""

from tests.benchmarks import bench_encoder, bench_job

bench_encoder.main([1, 2])
print()
bench_job.main([100, 1000])
