// The epoch of the last Roll, whether it is acknowledged, and how far a request's epoch is behind the newest
// in which a sender may be.
reg weft_rolls = 0;
reg [$bits(roll_epoch)-1:0] weft_rolled = 0;
wire [$bits(roll_epoch)-1:0] weft_next = weft_rolled + 1'b1;
wire [$bits(req_tag)-1:0] weft_behind = weft_rolled + !weft_rolls - req_tag;
always @(posedge clk) if (weft_run) begin
    if (roll_ack_valid && roll_ack_ready) weft_rolls <= 1'b0;
    if (roll_valid && roll_ready) begin
        weft_rolls <= 1'b1;
        weft_rolled <= roll_epoch;
    end
end
