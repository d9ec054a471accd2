// Of a line, whether its home has this slice's GPM number, and is in this GPU; of a source, whether it is a
// GPM, is in this GPU, has this number.
localparam weft_level = $clog2({gpms});
localparam weft_gpms = (1 << weft_level) - 1;
localparam weft_nodes = (1 << $bits(req_src)) - 1;
wire [15:0] weft_req_home = (req_line >> ({p} - $clog2({l}))) & weft_nodes;
wire [15:0] weft_recv_home = (recv_line >> ({p} - $clog2({l}))) & weft_nodes;
wire weft_req_gpm = (weft_req_home & weft_gpms) == ({home} & weft_gpms);
wire weft_recv_gpm = (weft_recv_home & weft_gpms) == ({home} & weft_gpms);
wire weft_req_own = (weft_req_home >> weft_level) == ({home} >> weft_level);
wire weft_recv_own = (weft_recv_home >> weft_level) == ({home} >> weft_level);
wire weft_node = (req_src & weft_gpms) < {gpms};
wire weft_near = (req_src >> weft_level) == ({home} >> weft_level);
wire weft_peer = (req_src & weft_gpms) == ({home} & weft_gpms);
