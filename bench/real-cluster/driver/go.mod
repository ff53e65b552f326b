module causeway/bench/real-cluster/driver

go 1.25
