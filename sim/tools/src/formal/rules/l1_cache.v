// Of each transaction, requests that are not answered, and their kind.
localparam weft_ids = 1 << $bits(l2_req_id);
reg [8*weft_ids-1:0] weft_open = 0;
reg [4*weft_ids-1:0] weft_kind = 0;
integer weft_i;
always @(posedge clk) if (weft_run) begin
    if (l2_req_valid && l2_req_ready) weft_kind[4 * l2_req_id +: 4] <= l2_req_kind;
    for (weft_i = 0; weft_i < weft_ids; weft_i = weft_i + 1)
        weft_open[8 * weft_i +: 8] <= weft_open[8 * weft_i +: 8]
            + (l2_req_valid && l2_req_ready && l2_req_id == weft_i)
            - (l2_rsp_valid && l2_rsp_ready && l2_rsp_id == weft_i);
end
