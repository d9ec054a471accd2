// Entries whose operation the TSU has and answers, and of these the reads.
reg [255:0] weft_asked = 0, weft_reads = 0;
always @(posedge clk) if (weft_run) begin
    if (tsu_rsp_valid && tsu_rsp_ready) weft_asked[tsu_rsp_id] <= 1'b0;
    if (tsu_req_valid && tsu_req_ready && tsu_req_op != 2'd3) weft_asked[tsu_req_id] <= 1'b1;
    if (tsu_req_valid && tsu_req_ready && tsu_req_op != 2'd3) weft_reads[tsu_req_id] <= tsu_req_op == 2'd0;
end
