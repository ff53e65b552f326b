module causeway.io/test/toolbox

go 1.24
