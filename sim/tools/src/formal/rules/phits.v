// Messages on a wire of phits: bytes of the present phit that the message before still needs, what begins
// behind them, and of each virtual network the messages whose places are not given back. The first byte
// tells kind and length.
reg [15:0] weft_owed = 0, weft_req = 0, weft_rsp = 0, weft_inv = 0;
localparam weft_line = $bits(req_mask);
wire [4:0] weft_code = phit >> (8 * weft_owed);
wire weft_is_req = weft_code < 16;
wire weft_is_rsp = weft_code >= 16 && weft_code < 24;
wire weft_is_inv = weft_code >= 24;
wire weft_legal = weft_code <= weft_line / 16 || weft_code >= 9 && weft_code <= 12
    || weft_is_rsp && weft_code <= 21 || weft_is_inv && weft_code <= 25;
wire [15:0] weft_size = weft_code <= 8 ? 16 * weft_code + (weft_line == 128 ? 32 : 16) :
    weft_code == 10 ? 32 : weft_code == 16 ? 16 + weft_line : 16;
wire [15:0] weft_total = weft_owed + (phit_head ? weft_size : 0);
always @(posedge clk) if (weft_run) begin
    weft_owed <= weft_total < {bytes_per_cycle} ? 0 : weft_total - {bytes_per_cycle};
    weft_req <= weft_req + (phit_head && weft_is_req) - credit_req;
    weft_rsp <= weft_rsp + (phit_head && weft_is_rsp) - credit_rsp;
    weft_inv <= weft_inv + (phit_head && weft_is_inv) - credit_inv;
end
