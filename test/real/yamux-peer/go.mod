module yamux-peer

go 1.24

require github.com/hashicorp/yamux v0.1.2
