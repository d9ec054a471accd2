// Of each transaction, the words that are asked for and not answered: by ReqV, by ReqWT, and by ReqWT+data.
// A word that was refused counts again when the unit asks again.
localparam weft_tags = {mshrs} + {sb};
reg [weft_tags-1:0] weft_atomic = 0;
reg [32*weft_tags-1:0] weft_reads = 0, weft_writes = 0, weft_updates = 0;
reg [64*weft_tags-1:0] weft_lines = 0;
wire [31:0] weft_expected = rsp_op == 4'd0 || rsp_op == 4'd9 ? weft_reads[32 * rsp_tag +: 32] :
    rsp_op == 4'd4 ? weft_writes[32 * rsp_tag +: 32] : rsp_op == 4'd5 ? weft_updates[32 * rsp_tag +: 32] : 0;
wire weft_asked = req_valid && req_ready;
wire weft_answered = rsp_valid && rsp_ready;
integer weft_i;
always @(posedge clk) if (weft_run) begin
    if (l1_req_valid && l1_req_ready) weft_atomic[l1_req_tag] <= l1_req_op == 2'd2;
    for (weft_i = 0; weft_i < weft_tags; weft_i = weft_i + 1) begin
        if (weft_asked && req_tag == weft_i) weft_lines[64 * weft_i +: 64] <= req_line;
        weft_reads[32 * weft_i +: 32] <= (weft_reads[32 * weft_i +: 32]
            | (weft_asked && req_tag == weft_i && req_op == 3'd0 ? req_mask : 0))
            & ~(weft_answered && rsp_tag == weft_i && rsp_op != 4'd4 && rsp_op != 4'd5 ? rsp_mask : 0);
        weft_writes[32 * weft_i +: 32] <= (weft_writes[32 * weft_i +: 32]
            | (weft_asked && req_tag == weft_i && req_op == 3'd2 ? req_mask : 0))
            & ~(weft_answered && rsp_tag == weft_i && rsp_op == 4'd4 ? rsp_mask : 0);
        weft_updates[32 * weft_i +: 32] <= (weft_updates[32 * weft_i +: 32]
            | (weft_asked && req_tag == weft_i && req_op == 3'd4 ? req_mask : 0))
            & ~(weft_answered && rsp_tag == weft_i && rsp_op == 4'd5 ? rsp_mask : 0);
    end
end
