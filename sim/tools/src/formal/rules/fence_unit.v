// GPUs that were asked for a marker and whose own has not come, and, for each GPU, markers on their way to
// it, or there and not acknowledged: those of every GPU but itself.
reg [7:0] weft_asked = 0;
reg [8*{n}-1:0] weft_marks = 0;
wire weft_asks = req_out_valid && req_out_ready;
wire weft_own = mark_out_valid && mark_out_ready && mark_out_requester == {home};
wire weft_comes = mark_in_valid && mark_in_ready && mark_in_requester == {home};
integer weft_i;
always @(posedge clk) if (weft_run) begin
    weft_asked <= weft_asked + weft_asks - weft_comes;
    for (weft_i = 0; weft_i < {n}; weft_i = weft_i + 1)
        weft_marks[8 * weft_i +: 8] <= weft_marks[8 * weft_i +: 8]
            + (weft_asks && req_out_dst != weft_i) + weft_own
            - (rsp_in_valid && rsp_in_ready && rsp_in_src == weft_i);
end
