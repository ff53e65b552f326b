module causeway/bench/endpoint/driver

go 1.25
